"""Runs a command that reaches one server and nothing else: python3 alone.py SOCKET PORT ASKED COMMAND...

The server listens on the unix socket SOCKET; 127.0.0.1:PORT leads to it. Where this
process has a network of its own, that has a loopback device only, which is switched on
here, and an answer to every question for a name: there is no such host. The names are
written into the file ASKED. Where ASKED is empty, the network is left as it is.
"""
import fcntl
import socket
import struct
import subprocess
import sys
import threading

SIOCSIFADDR, SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8916, 0x8914, 1, 64


def device(name, address=None):
    """Switches a device on, with an address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        if address:
            fcntl.ioctl(s, SIOCSIFADDR, struct.pack("16sHH4s8x", name.encode(), socket.AF_INET, 0, socket.inet_aton(address)))
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh14x", name.encode(), IFF_UP | IFF_RUNNING))


def name_servers():
    """The servers that programs of this machine ask for names."""
    with open("/etc/resolv.conf") as f:
        words = [line.split() for line in f]
    found = [w[1] for w in words if len(w) > 1 and w[0] == "nameserver" and "." in w[1]]
    return found or ["127.0.0.1"]


def name_of(question):
    """The name in a DNS message."""
    at, labels = 12, []
    while at < len(question) and question[at]:
        labels.append(question[at + 1:at + 1 + question[at]].decode("ascii", "replace"))
        at += 1 + question[at]
    return ".".join(labels)


def deny_names(address, asked):
    """Answers questions for names: there is no such host."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, 53))

    def serve():
        while True:
            question, who = s.recvfrom(4096)
            with open(asked, "a") as f:
                f.write(name_of(question) + "\n")
            s.sendto(question[:2] + b"\x81\x83" + question[4:6] + bytes(6) + question[12:], who)

    threading.Thread(target=serve, daemon=True).start()


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        sink.close()


def forward(listener, path):
    while True:
        near, _ = listener.accept()
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        far = socket.socket(socket.AF_UNIX)
        far.connect(path)
        for pair in ((near, far), (far, near)):
            threading.Thread(target=pump, args=pair, daemon=True).start()


path, port, asked = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if asked:
    device("lo")
    for i, address in enumerate(name_servers()):
        if not address.startswith("127."):
            device("lo:%d" % (i + 1), address)
        deny_names(address, asked)
listener = socket.create_server(("127.0.0.1", port))
threading.Thread(target=forward, args=(listener, path), daemon=True).start()
sys.exit(subprocess.run(sys.argv[4:]).returncode)
