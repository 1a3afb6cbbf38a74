-- Durable updates of one app's 1,000 rows.
dofile("tests/bench/common.lua")
function request()
    counter = counter + 1
    return wrk.format("PATCH", rows(one) .. "/k" .. math.random(0, 999), headers, '{"data":{"n":' .. counter .. "}}")
end
