/**
 * @file What every load has, whatever the format: its signal, its cache, and where its tensors go.
 */
import type { DeviceType } from '../device.js';
import { reclaimBeforeLoading } from '../memory/reclaim.js';
import type { Tensor } from '../tensor.js';
import { anySignal } from './abort.js';
import type { ByteFile } from './byte-file.js';
import { type ByteSource, openSource } from './byte-source.js';
import { damagedUrl } from './cache/cached-file.js';
import { type CheckpointCache, type HttpCache, openHttpCache } from './cache/http-cache.js';

/** How a source is read. */
export interface SourceOptions {
  /** Ends loading: what is under way rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Given to `fetch`: headers, credentials, mode. */
  readonly requestInit?: RequestInit | undefined;
}

/** Where tensors go, and downloads. */
export interface PlaceOptions {
  /** Where the tensors go (default `cpu`); each is moved as soon as it is complete. */
  readonly device?: DeviceType | undefined;
  /**
   * Keeps downloads for the next time (`true`, or the name of a cache): in the origin private file system of
   * browsers, in a folder in Node. The server is asked whether the file is still the same. A load of some `keys`
   * takes what is kept but keeps nothing.
   */
  readonly cache?: CheckpointCache | undefined;
}

/** What one load has. */
export interface Loading<Options extends SourceOptions = SourceOptions> {
  readonly options: Options;
  readonly signal: AbortSignal | undefined;
  readonly cache: HttpCache | null;
}

/** How far loading is. */
export interface LoadProgress {
  /** Name of the file that is read: a checkpoint may have several. */
  readonly file: string;
  /** Bytes of the file read so far. */
  readonly loaded: number;
  /**
   * Bytes of it that will be read; undefined until they are known. Of a compressed answer `Content-Length` is not
   * the length of the file, but the header of the file tells it.
   */
  readonly total: number | undefined;
}

/** The signal of options, of their `requestInit` and of a request. */
export function signalOf(source: ByteSource, options: SourceOptions): AbortSignal | undefined {
  const request = source instanceof Request ? source.signal : undefined;
  return anySignal([options.signal, options.requestInit?.signal, request]);
}

/** @throws invalid-argument; the reason of a signal that is aborted already */
export function startLoading<Options extends SourceOptions & PlaceOptions>(
  source: ByteSource,
  options: Options,
): Loading<Options> {
  const signal = signalOf(source, options);
  signal?.throwIfAborted();
  reclaimBeforeLoading();
  return { options, signal, cache: openHttpCache(options.cache) };
}

/**
 * Opens a source and reads it (only parts of it, if `parts` says so and the source allows that); from the network, if
 * what the cache has of it turns out to be damaged.
 */
export async function reading(
  source: ByteSource,
  { options: { requestInit }, signal, cache }: Loading,
  parts: boolean,
  read: (file: ByteFile) => Promise<void>,
): Promise<void> {
  const attempt = async (): Promise<void> =>
    read(await openSource(source, { signal, requestInit, parts, cache }));
  try {
    await attempt();
  } catch (error) {
    const url = damagedUrl(error);
    if (url === null || cache === null) throw error;
    await cache.remove(url);
    await attempt();
  }
}

/** Releases tensors, and takes them out of the record. */
export function disposeAll(tensors: Record<string, Tensor>): void {
  for (const [name, tensor] of Object.entries(tensors)) {
    tensor.dispose();
    delete tensors[name];
  }
}
