-- Takes tokens of a bucket that several processes have in common, if they are there.
--
-- KEYS[1]  the bucket: "MISSING TIME RATE", or nothing where it is full
-- ARGV     tokens; the plan's rate, which is its burst; tokens that were admitted elsewhere
-- Returns  whether they were taken, and what is missing then
--
-- All numbers are integers below 2^53: what is missing in millionths of a token, times in microseconds
-- of this server's clock, so that a microsecond brings exactly RATE millionths.
local tokens = tonumber(ARGV[1]) * 1000000
local rate = tonumber(ARGV[2])
local elsewhere = tonumber(ARGV[3]) * 1000000
local full = rate * 1000000
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local missing, write = 0, elsewhere > 0

local word = redis.call('GET', KEYS[1])
if word then
    local was, at, at_rate = string.match(word, '^(%d+) (%d+) (%d+)$')
    if was then
        was, at, at_rate = tonumber(was), tonumber(at), tonumber(at_rate)
        if at_rate ~= rate then
            -- A changed plan keeps how full the bucket is.
            was = math.floor((was + at_rate - 1) / at_rate) * rate
        end
        if now < at then
            -- The clock was set back: nothing has come meanwhile, and time begins anew.
            at, write = now, true
        end
        missing = math.max(0, was - (now - at) * rate)
    end
end

-- No more than empties it: what is in debt already is not put deeper.
if elsewhere > 0 and missing < full then
    missing = math.min(full, missing + elsewhere)
end

local taken = 0
if missing + math.min(tokens, full) <= full then
    taken, write = 1, true
    missing = missing + tokens
end
if write and missing > 0 then
    -- Gone a second after it is full.
    local life = math.floor(missing / (rate * 1000)) + 1000
    redis.call('SET', KEYS[1], string.format('%.0f %.0f %.0f', missing, now, rate), 'PX', life)
end
return {taken, missing}
