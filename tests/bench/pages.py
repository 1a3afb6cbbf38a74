"""Fills an account of a fresh server, and measures when the first byte of each of its pages comes."""
import http.client, json, sys, time, urllib.parse

base, rounds = sys.argv[1], int(sys.argv[2])
host = urllib.parse.urlsplit(base).netloc
COLD = 5
# Milliseconds that a page may take, in the median.
FIRST_BYTE_MS_MAX = 20


def connect():
    for _ in range(100):
        connection = http.client.HTTPConnection(host)
        try:
            connection.request("GET", "/alive")
            connection.getresponse().read()
            return connection
        except OSError:
            time.sleep(0.1)
    sys.exit("the server does not start")


connection = connect()


def call(method, path, body=None, **headers):
    if body is not None:
        headers["content-type"] = "application/json"
        body = json.dumps(body)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    if answer.status >= 400:
        sys.exit(f"{method} {path}: {answer.status} {text}")
    return answer, json.loads(text) if text.startswith("{") else text


def sign_in(email):
    call("POST", "/v1/auth/request-link", {"email": email})
    _, mail = call("GET", "/dev/mailbox?to=" + email, accept="application/json")
    token = mail["items"][0]["text"].split("token=")[1].split()[0]
    answer, _ = call("GET", "/v1/auth/verify?token=" + token)
    return answer.headers["set-cookie"].split(";")[0]


def agent(**human):
    _, enrolled = call("POST", "/v1/register", {"name": "bench"})
    _, code = call("POST", "/v1/self/claim-codes", {}, **human)
    auth = {"authorization": "Bearer " + enrolled["key"]["secret"]}
    call("POST", "/v1/agents/claim", {"code": code["code"]}, **auth)
    return auth


human = {"cookie": sign_in("bench@example.org"), "origin": base}
keys = [agent(**human) for _ in range(30)]
for _ in range(30):
    sign_in("bench@example.org")
open_to_all = {what: ["anyone"] for what in ["read", "write", "update", "delete", "countRead"]}
manifest = {
    "collections": {name: {"permissions": open_to_all} for name in ["notes", "entries"]},
    "roles": {"guest": {"title": "Guest"}},
}
html = "<!doctype html>\n<title>Notes</title>\n" + "".join(f"<p>Line {n}\n" for n in range(300))
_, org = call("POST", "/v1/orgs", {"name": "Bench"}, **human)
apps = []
for n in range(60):
    body = {"html": html, "manifest": manifest, "org_id": org["id"] if n % 2 else None}
    apps.append(call("POST", "/v1/apps", body, **keys[0])[1])
app = apps[-1]
for deleted in apps[:10]:
    call("DELETE", "/v1/apps/" + deleted["id"], **keys[0])
path = "/v1/apps/" + app["id"]
for n in range(300):
    data = {"name": f"Visitor {n}", "message": "What a quiet place. " * 8, "n": n, "read": n % 2 == 0}
    call("POST", path + "/collections/entries", {"key": f"row-{n}", "data": data}, **keys[0])
for n in range(20):
    call("PATCH", path + "/collections/entries/row-0", {"data": {"n": -n}}, **keys[0])
for n in range(200, 260):
    call("DELETE", path + f"/collections/entries/row-{n}", **keys[0])
for n in range(4):
    call("POST", path + "/versions", {"html": html.replace(f"Line {n}\n", f"Changed {n}\n")}, **keys[0])
for n in range(60):
    call("POST", path + "/members", {"email": f"friend{n}@example.org"}, **keys[0])
    call("POST", path + "/grants", {"role": "guest"}, **keys[0])
    credential = {"name": f"import {n}", "collections": ["entries"], "operations": ["read"]}
    call("POST", path + "/credentials", credential, **keys[0])
for n in range(6):
    call("POST", f"/v1/self/apps/{apps[-1 - n]['id']}/view", **human)

own = "/apps/" + app["id"]
signed_out = ["/", "/sign-in", "/signed-out", "/sign-in/confirm?token=none", "/nothing"]
signed_in = [
    "/", "/agents", "/orgs", "/orgs/" + org["id"], "/usage", "/usage?by=hour", "/trash", "/account",
    "/transfers", "/device", "/apps/none", own, own + "/data/entries",
    own + "/data/entries?field=name&op=contains&value=9&sort=-n", own + "/data/entries/new",
    own + "/data/entries/trash", own + "/data/entries/rows/row-0", own + "/versions",
    own + "/versions/5", own + "/versions/1", own + "/sharing", own + "/analytics", own + "/usage",
    own + "/settings", own + "/domains",
]


def measure(page, headers):
    times = []
    for n in range(COLD + rounds):
        began = time.perf_counter()
        connection.request("GET", page, headers={"accept": "text/html", **headers})
        answer = connection.getresponse()
        took = (time.perf_counter() - began) * 1000
        size = len(answer.read())
        if n >= COLD:
            times.append(took)
    times.sort()
    return times[len(times) // 2], times[int(len(times) * 0.99)], times[-1], size


slow = []
print("| Page | p50 | p99 | Most | Bytes |\n|---|---:|---:|---:|---:|")
for words, pages, headers in [("signed out", signed_out, {}), ("", signed_in, {"cookie": human["cookie"]})]:
    for page in pages:
        name = page.replace(app["id"], ":id").replace(org["id"], ":id") + (", signed out" if words else "")
        p50, p99, most, size = measure(page, headers)
        print(f"| {name} | {p50:.1f} ms | {p99:.1f} ms | {most:.1f} ms | {size:,} |")
        if p50 > FIRST_BYTE_MS_MAX:
            slow.append(name)
if slow:
    sys.exit("slower than wanted: " + ", ".join(slow))
