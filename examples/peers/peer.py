#!/usr/bin/env python3
"""A peer of the call protocol (doc/protocol.md) on Python's standard library, WebSocket (RFC 6455) by hand: it serves
python.greet and python.count, and calls what the other side serves.

  python3 examples/peers/peer.py ws://127.0.0.1:8080 [OPERATION [INPUT]]   calls it, prints the answer; else serves on
  python3 examples/peers/peer.py listen                                    prints its port, serves whoever connects
"""
import base64
import hashlib
import json
import os
import socket
import struct
import sys
import threading
import time
import urllib.parse
import uuid

PROTOCOL = "ops.v1.json"
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def greet(name):
    return "hello, " + name


def count(to):
    yield from range(1, to + 1)


OPERATIONS = {"python.greet": greet, "python.count": count}  # functions answer once, generators stream


class WebSocket:
    """Text messages over a socket whose handshake is done."""

    def __init__(self, stream, is_client):
        self.stream, self.reader, self.is_client = stream, stream.makefile("rb"), is_client
        self.lock = threading.Lock()

    def frame(self, opcode, payload):
        mask = os.urandom(4) if self.is_client else b""
        size = len(payload)
        head = bytes([0x80 | opcode])
        flag = 0x80 if mask else 0
        if size < 126:
            head += bytes([flag | size])
        elif size < 65536:
            head += struct.pack("!BH", flag | 126, size)
        else:
            head += struct.pack("!BQ", flag | 127, size)
        if mask:
            payload = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        with self.lock:
            self.stream.sendall(head + mask + payload)

    def read(self, size):
        data = self.reader.read(size)
        if len(data) < size:
            raise ConnectionError("the connection ended")
        return data

    def messages(self):
        text = b""
        while True:
            first, second = self.read(2)
            size = second & 0x7F
            if size > 125:
                size = struct.unpack("!H", self.read(2))[0] if size == 126 else struct.unpack("!Q", self.read(8))[0]
            mask = self.read(4) if second & 0x80 else b"\0\0\0\0"
            payload = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.read(size)))
            opcode = first & 0x0F
            if opcode == 8:  # close
                self.frame(8, payload[:2])
                return
            if opcode == 9:  # ping
                self.frame(10, payload)
            elif opcode in (0, 1):
                text += payload
                if first & 0x80:
                    yield text.decode()
                    text = b""


def read_head(stream):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = stream.recv(1)
        if not byte:
            raise ConnectionError("no handshake")
        head += byte
    fields = (line.partition(":") for line in head.decode().split("\r\n")[1:] if line)
    return head.split(b" ")[1], {name.lower(): value.strip() for name, _, value in fields}


def connect(url):
    parts = urllib.parse.urlsplit(url)
    stream = socket.create_connection((parts.hostname, parts.port or 80))
    key = base64.b64encode(os.urandom(16)).decode()
    stream.sendall((f"GET {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\n"
                    f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
                    f"Sec-WebSocket-Protocol: {PROTOCOL}\r\n\r\n").encode())
    status, fields = read_head(stream)
    if status != b"101" or fields.get("sec-websocket-accept") != accept(key):
        raise ConnectionError("the server answered " + status.decode())
    return WebSocket(stream, True)


def accept(key):
    return base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()


def welcome(stream):
    _, fields = read_head(stream)
    stream.sendall(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    f"Sec-WebSocket-Accept: {accept(fields['sec-websocket-key'])}\r\n"
                    + (f"Sec-WebSocket-Protocol: {PROTOCOL}\r\n" if "sec-websocket-protocol" in fields else "")
                    + "\r\n").encode())
    return WebSocket(stream, False)


class Peer:
    """Both ends of calls over one connection."""

    def __init__(self, connection):
        self.connection, self.pending, self.serving = connection, {}, set()

    def send(self, kind, **payload):
        event = {"type": kind, "id": payload["requestId"], "payload": payload}
        self.connection.frame(1, json.dumps(event).encode())

    def respond(self, request, data):
        meta = {"source": "local", "operationId": request["operationId"], "timestamp": int(time.time() * 1000)}
        self.send("call.responded", requestId=request["requestId"], output={"data": data, "meta": meta})

    def serve(self, request):
        name, number = request["operationId"], request["requestId"]
        try:
            if name not in OPERATIONS:
                self.send("call.error", requestId=number, code="OPERATION_NOT_FOUND", message=f"no operation '{name}'")
                return
            result = OPERATIONS[name](**request.get("input", {}))
            if not hasattr(result, "__next__"):
                self.respond(request, result)
                return
            for event in result:
                if number not in self.serving:  # aborted
                    return
                self.respond(request, event)
            self.send("call.completed", requestId=number)
        except OSError:
            pass  # the other side is gone
        except Exception as problem:  # whatever the operation raises is its caller's to hear
            self.send("call.error", requestId=number, code="EXECUTION_ERROR", message=str(problem))
        finally:
            self.serving.discard(number)

    def run(self):
        for text in self.connection.messages():
            event = json.loads(text)
            kind, payload = event["type"], event["payload"]
            if kind == "call.requested":
                self.serving.add(payload["requestId"])
                threading.Thread(target=self.serve, args=(payload,), daemon=True).start()
            elif kind == "call.aborted" and payload["requestId"] in self.serving:
                self.serving.discard(payload["requestId"])
            elif payload["requestId"] in self.pending:
                self.pending.pop(payload["requestId"])(kind, payload)

    def call(self, operation, data):
        """Calls an operation and waits for its answer, or its error."""
        number, answered, answer = str(uuid.uuid4()), threading.Event(), []
        self.pending[number] = lambda *event: (answer.extend(event), answered.set())
        self.send("call.requested", requestId=number, operationId=operation, input=data)
        answered.wait()
        kind, payload = answer
        if kind == "call.responded":
            return json.dumps(payload["output"].get("data"))
        return f"{payload.get('code', 'ABORTED')}: {payload.get('message', '')}"


def main(target, operation=None, data="{}"):
    if target == "listen":
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        while True:
            connection = welcome(listener.accept()[0])
            threading.Thread(target=Peer(connection).run, daemon=True).start()
    peer = Peer(connect(target))
    print("connected", flush=True)
    if not operation:
        peer.run()
        return
    threading.Thread(target=peer.run, daemon=True).start()
    print(peer.call(operation, json.loads(data)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
