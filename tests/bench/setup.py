"""Enrolls, deploys one app of 1,000 rows and 100 empty ones, and writes what the wrk scripts need."""
import json, sys, urllib.error, urllib.parse, urllib.request

base, target = sys.argv[1:]


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirect)


def call(method, path, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, headers, method=method)
    if data is not None:
        request.add_header("content-type", "application/json")
    try:
        answer = opener.open(request)
    except urllib.error.HTTPError as error:
        answer = error
    text = answer.read().decode()
    if answer.status >= 400:
        sys.exit(f"{method} {path}: {answer.status} {text}")
    return answer, json.loads(text) if text.startswith(("{", "[")) else text


def wait():
    import time

    for _ in range(100):
        try:
            return urllib.request.urlopen(base + "/alive")
        except OSError:
            time.sleep(0.1)
    sys.exit("the server does not start")


wait()
call("POST", "/v1/auth/request-link", {"email": "bench@example.org"})
_, mail = call("GET", "/dev/mailbox?to=bench@example.org", accept="application/json")
token = mail["items"][0]["text"].split("token=")[1].split()[0]
answer, _ = call("GET", f"/v1/auth/verify?token={token}")
cookie = answer.headers["set-cookie"].split(";")[0]
_, enrolled = call("POST", "/v1/register", {"name": "bench"})
key = enrolled["key"]["secret"]
origin = "http://localhost:" + base.rsplit(":", 1)[1]
_, code = call("POST", "/v1/self/claim-codes", {}, cookie=cookie, origin=origin)
auth = {"authorization": "Bearer " + key}
call("POST", "/v1/agents/claim", {"code": code["code"]}, **auth)

manifest = {
    "collections": {
        "rows": {
            "schema": {"$ref": "#/$defs/Row"},
            "permissions": {"read": ["member"], "write": ["member"], "update": ["member"], "delete": ["owner"]},
            "unique": ["name"],
        }
    },
    "$defs": {
        "Row": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 80},
                "n": {"type": "integer"},
                "text": {"type": "string", "maxLength": 400},
            },
            "required": ["name", "n"],
            "additionalProperties": False,
        }
    },
}


def deploy(slug):
    _, app = call("POST", "/v1/apps", {"html": "<p>bench</p>", "manifest": manifest, "slug": slug}, **auth)
    return app["id"]


def fill(app, count):
    for start in range(0, count, 500):
        rows = [
            {"key": f"k{i}", "data": {"name": f"row {i}", "n": i, "text": "x" * 150}}
            for i in range(start, min(count, start + 500))
        ]
        call("POST", f"/v1/apps/{app}/collections/rows/batch", {"rows": rows}, **auth)


one = deploy("bench-one")
fill(one, 1000)
grow = deploy("bench-grow")
many = [deploy(f"bench-many-{i}") for i in range(100)]
with open(target, "w") as file:
    print(f"key = {json.dumps(key)}", file=file)
    print(f"one = {json.dumps(one)}", file=file)
    print(f"grow = {json.dumps(grow)}", file=file)
    print("many = {" + ", ".join(json.dumps(app) for app in many) + "}", file=file)
