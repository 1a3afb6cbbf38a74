-- Durable creates with new keys, over 100 apps.
dofile("tests/bench/common.lua")
function request()
    counter = counter + 1
    return wrk.format("POST", rows(many[counter % 100 + 1]), headers, row(run .. "-" .. counter, counter))
end
