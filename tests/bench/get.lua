-- One row by key, out of 1,000.
dofile("tests/bench/common.lua")
function request()
    return wrk.format("GET", rows(one) .. "/k" .. math.random(0, 999), headers)
end
