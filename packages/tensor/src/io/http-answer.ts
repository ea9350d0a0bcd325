/**
 * @file What the headers of an answer say: how long its body is, which version of the file it belongs to, which part.
 *
 * The rules of fetch decide what can be seen. Of another origin's answer `Content-Length` is shown but
 * `Content-Encoding` is not, unless the server exposes it: the length may be that of the compressed body, so it is
 * not believed.
 */

/** What tells versions of a file apart. */
export interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** `Content-Length` (of part of a file: the length of the whole), which weighs only beside a date. */
  readonly length: string | null;
}

/** Whether the body was compressed on its way, as far as can be seen. */
export function isEncoded(response: Response): boolean {
  const encoding = response.headers.get('content-encoding');
  return encoding !== null && encoding !== 'identity';
}

/** Bytes of the body, undefined where the headers do not say. */
export function bodyLength(response: Response): number | undefined {
  // Of an answer of another origin not all headers are seen, and others are made by programs.
  if (response.type !== 'basic' || isEncoded(response)) return undefined;
  const length = response.headers.get('content-length');
  return length !== null && /^\d+$/.test(length) ? Number(length) : undefined;
}

/** The version that an answer (to a GET) belongs to. */
export function validatorsOf(response: Response): Validators {
  const { headers } = response;
  const total = contentRange(response)?.total;
  return {
    etag: headers.get('etag'),
    lastModified: headers.get('last-modified'),
    length:
      response.status === 206
        ? ((total ?? null)?.toString() ?? null)
        : headers.get('content-length'),
  };
}

/** Whether both belong to one version; not, if nothing says so. */
export function sameVersion(a: Validators, b: Validators): boolean {
  if (a.etag !== null || b.etag !== null) return a.etag === b.etag;
  return a.lastModified !== null && a.lastModified === b.lastModified && a.length === b.length;
}

/** Whether something says that they belong to different versions. */
export function otherVersion(a: Validators, b: Validators): boolean {
  const differ = (x: string | null, y: string | null): boolean =>
    x !== null && y !== null && x !== y;
  return (
    differ(a.etag, b.etag) || differ(a.lastModified, b.lastModified) || differ(a.length, b.length)
  );
}

/** The part of a file that an answer holds; `total` is undefined where the server does not tell. */
export interface ContentRange {
  readonly begin: number;
  readonly end: number;
  readonly total: number | undefined;
}

/** `Content-Range` of an answer, null if it is absent, hidden or nonsense. */
export function contentRange(response: Response): ContentRange | null {
  const match = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(response.headers.get('content-range') ?? '');
  if (match === null) return null;
  const [, first, last, total] = match;
  return {
    begin: Number(first),
    end: Number(last) + 1,
    total: total === '*' ? undefined : Number(total),
  };
}
