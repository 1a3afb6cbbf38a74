-- The ceiling: an answer and nothing else.
wrk.path = "/alive"
