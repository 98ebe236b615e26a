"""Has the server of `quick_drivers` fork a process with this one's environment and output, and waits for its end.

Spark starts this file instead of a module of PySpark, whose name is the second argument after the server's address.
"""

import os
import socket
import sys

if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[1])
        socket.send_fds(connection, [b"."], [1, 2])
        variables = (name + b"=" + value for name, value in os.environb.items())
        connection.sendall(b"\0".join([sys.argv[2].encode(), *variables]))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
