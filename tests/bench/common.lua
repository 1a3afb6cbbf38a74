-- What every script shares: who asks, and rows of about 200 bytes.
dofile(os.getenv("BENCH_SETUP"))
headers = { ["authorization"] = "Bearer " .. key, ["content-type"] = "application/json" }
filler = string.rep("x", 150)
counter = 0
math.randomseed(os.time())
run = tostring(math.random(1, 1e9))

function rows(app)
    return "/v1/apps/" .. app .. "/collections/rows"
end

function row(name, n)
    return '{"data":{"name":"' .. name .. '","n":' .. n .. ',"text":"' .. filler .. '"}}'
end
