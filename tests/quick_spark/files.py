"""Files for Spark in tests, made without a program.

Without its native library Hadoop calls the program chmod for each file and folder that it makes, several in every
micro-batch, although the permissions it asks for are those that the process's umask gives anyway.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import SparkSession

_SOURCE: Final = """
public class PlainFileSystem extends org.apache.hadoop.fs.RawLocalFileSystem {
    public void setPermission(
        org.apache.hadoop.fs.Path path, org.apache.hadoop.fs.permission.FsPermission permission) {}
}
"""


def leave_permissions(spark: SparkSession) -> None:
    """Have the file system of a session's JVM leave the permissions of new files to the umask."""
    context: Any = spark.sparkContext
    jvm = context._jvm
    conf = context._jsc.hadoopConfiguration()

    compiler = jvm.org.codehaus.janino.SimpleCompiler()  # Spark brings it, for the code that it generates
    compiler.setParentClassLoader(jvm.Thread.currentThread().getContextClassLoader())
    compiler.cook(_SOURCE)
    plain = compiler.getClassLoader().loadClass("PlainFileSystem").newInstance()
    plain.initialize(jvm.java.net.URI("file:///"), conf)

    # The file system that all of the JVM shares wraps another one in its field `fs`: that is replaced.
    checked = jvm.org.apache.hadoop.fs.FileSystem.getLocal(conf)
    inner = jvm.java.lang.Class.forName("org.apache.hadoop.fs.FilterFileSystem").getDeclaredField("fs")
    inner.setAccessible(True)
    inner.set(checked, plain)
