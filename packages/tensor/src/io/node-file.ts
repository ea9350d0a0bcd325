/**
 * @file A file of this machine, in Node, Deno and Bun.
 */
import type { ByteFile, ByteReader } from './byte-file.js';
import { type NodeFileHandle, nodeFs } from './node-fs.js';
import { unreadable } from './unreadable.js';

/** Bytes that are read at once. */
const CHUNK_BYTES = 1_048_576;

function fileReader(handle: NodeFileHandle, begin: number, end: number): ByteReader {
  let at = begin;
  return {
    async read() {
      if (at >= end) return null;
      const chunk = new Uint8Array(Math.min(CHUNK_BYTES, end - at));
      const { bytesRead } = await handle.read(chunk, 0, chunk.byteLength, at);
      at += bytesRead;
      return bytesRead === 0 ? null : chunk.subarray(0, bytesRead);
    },
    cancel: () => {
      at = end;
    },
  };
}

/** Opens a path or a `file:` URL. @throws source-unreadable */
export async function openNodeFile(path: URL | string): Promise<ByteFile> {
  const name = String(path);
  const fs = nodeFs();
  if (fs === null) unreadable(name, 'there is no file system here; give a URL, a File or bytes');
  let handle: NodeFileHandle | undefined;
  try {
    handle = await fs.promises.open(name.startsWith('file:') ? new URL(name) : path, 'r');
    const stat = await handle.stat();
    if (stat.isDirectory()) unreadable(name, 'it is a folder');
    const opened = handle;
    return {
      name,
      size: stat.size,
      seekable: true,
      open: (begin, end = stat.size) => Promise.resolve(fileReader(opened, begin, end)),
      close: () => opened.close(),
    };
  } catch (error) {
    await handle?.close();
    unreadable(name, error);
  }
}
