-- Durable creates with new keys, all in one app.
dofile("tests/bench/common.lua")
function request()
    counter = counter + 1
    return wrk.format("POST", rows(grow), headers, row(run .. "-" .. counter, counter))
end
