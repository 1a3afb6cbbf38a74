-- The first 50 of 1,000 rows.
dofile("tests/bench/common.lua")
function request()
    return wrk.format("GET", rows(one) .. "?limit=50", headers)
end
