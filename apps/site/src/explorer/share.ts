/**
 * @file A program in the address of the page: packed, so that a link holds all of it and no server keeps it.
 */

async function through(
  bytes: Uint8Array,
  stream: CompressionStream | DecompressionStream,
): Promise<Uint8Array> {
  const piped = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

/** The fragment for a program. */
export async function toFragment(source: string): Promise<string> {
  const packed = await through(
    new TextEncoder().encode(source),
    new CompressionStream('deflate-raw'),
  );
  const text = btoa(String.fromCharCode(...packed));
  return `#code=${text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

/** The program of a fragment; null where there is none, or none that can be read. */
export async function fromFragment(fragment: string): Promise<string | null> {
  const [, text] = /^#code=([\w-]+)$/.exec(fragment) ?? [];
  if (text === undefined) return null;
  try {
    const packed = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) =>
      c.charCodeAt(0),
    );
    return new TextDecoder().decode(await through(packed, new DecompressionStream('deflate-raw')));
  } catch {
    return null;
  }
}
