#!/usr/bin/env python3
"""Browsers that have the page open: tabs.py ADDRESS COUNT. They take what the page's server sends, until standard input ends.

ADDRESS is what `web` prints.

What they have received is printed at the end.
"""

import base64
import http.client
import json
import os
import selectors
import socket
import sys
from urllib.parse import urlsplit

address, count = urlsplit(sys.argv[1]), int(sys.argv[2])
origin = f"http://{address.netloc}"
token = address.fragment.removeprefix("t=")

server = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
ours = {"Origin": origin, "X-Samovar": "1", "Content-Type": "application/json"}
server.request("POST", "/api/v1/token", json.dumps({"token": token}), ours)
answer = server.getresponse()
if answer.status != 200:
    sys.exit(f"the token is refused: {answer.status} {answer.read().decode()}")
cookie = answer.getheader("Set-Cookie").split(";")[0]


def open_tab():
    tab = socket.create_connection((address.hostname, address.port), timeout=10)
    lines = [
        "GET /api/v1/live HTTP/1.1", f"Host: {address.netloc}", f"Origin: {origin}", f"Cookie: {cookie}", "Upgrade: websocket",
        "Connection: Upgrade", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
    ]
    tab.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    head = b""
    while b"\r\n\r\n" not in head:
        part = tab.recv(65536)
        if not part:
            sys.exit(f"no socket: {head.decode(errors='replace')}")
        head += part
    if b" 101 " not in head.split(b"\r\n")[0]:
        sys.exit(f"no socket: {head.decode(errors='replace')}")
    tab.setblocking(False)
    return tab


tabs = selectors.DefaultSelector()
for _ in range(count):
    tabs.register(open_tab(), selectors.EVENT_READ)
tabs.register(sys.stdin, selectors.EVENT_READ, "end")
print("open", flush=True)
received = 0
while True:
    for key, _ in tabs.select():
        if key.data == "end":
            # What a browser would draw, it would have to have.
            print("received_bytes", received)
            sys.exit(0)
        part = key.fileobj.recv(1 << 20)
        if not part:
            sys.exit("the server has closed a socket")
        received += len(part)
