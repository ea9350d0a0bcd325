/**
 * @file The files of a model's folder, on this machine or at an address.
 */
import { TesseraError, nodeBuiltin, messageOf } from '@tessera/shared';

/** What is read from a folder. */
interface NodeFiles {
  readFile(path: string, options: { encoding: 'utf8'; signal?: AbortSignal }): Promise<string>;
}

/** How files are asked for. */
export interface FolderOptions {
  readonly signal?: AbortSignal;
  readonly requestInit?: RequestInit;
}

const ADDRESS = /^[a-z][a-z0-9+.-]+:/i;

/** See the file header. Only files whose names the library knows are read. */
export class ModelFolder {
  private readonly place: string | URL;
  private readonly files: NodeFiles | null;

  constructor(
    folder: string | URL,
    private readonly options: FolderOptions,
  ) {
    const isPath = typeof folder === 'string' && !ADDRESS.test(folder);
    this.files = isPath ? nodeBuiltin<NodeFiles>('node:fs/promises') : null;
    const slashed = String(folder).replace(/\/?$/, '/');
    if (isPath && this.files !== null) this.place = slashed;
    else {
      const {
        document,
        location,
      }: {
        document?: { baseURI: string };
        location?: { href: string };
      } = globalThis;
      this.place = new URL(slashed, document?.baseURI ?? location?.href);
    }
  }

  /** Where a file is. */
  at(name: string): string | URL {
    return typeof this.place === 'string' ? `${this.place}${name}` : new URL(name, this.place);
  }

  /** A file of JSON; null if there is none of this name. @throws source-unreadable, model-invalid */
  async json(name: string): Promise<unknown> {
    const text = await this.text(name);
    if (text === null) return null;
    try {
      // Some editors put a mark of the byte order in front.
      return JSON.parse(text.replace(/^\uFEFF/, ''));
    } catch (error) {
      throw new TesseraError('model-invalid', `${name} is no JSON: ${messageOf(error)}.`, {
        context: { file: String(this.at(name)) },
      });
    }
  }

  private async text(name: string): Promise<string | null> {
    const at = this.at(name);
    const { signal, requestInit } = this.options;
    try {
      if (typeof at === 'string')
        return await this.files!.readFile(at, { encoding: 'utf8', ...(signal && { signal }) });
      const response = await fetch(at, { ...requestInit, ...(signal && { signal }) });
      if (response.status === 404) return null;
      if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
      return await response.text();
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
      throw new TesseraError('source-unreadable', `${String(at)}: ${messageOf(error)}.`, {
        context: { source: String(at) },
        hints: ['Give the folder of a model: one with config.json and *.safetensors.'],
      });
    }
  }
}
