/**
 * @file Where the files of a model are written: a folder of this machine, or a function that takes each file, as pages
 * need it (the private file system, an upload, an archive).
 */
import { TesseraError, nodeBuiltin } from '@tessera/shared';
import {
  type SaveCheckpointOptions,
  type Tensor,
  download,
  saveCheckpoint,
  serializeSafetensors,
} from '@tessera/tensor';

interface NodeFiles {
  mkdir(path: string, options: { recursive: true }): Promise<unknown>;
  writeFile(path: string, text: string): Promise<void>;
}

/** Takes a file by its name in the folder. */
export type FileSink = (
  name: string,
  content: Uint8Array<ArrayBuffer> | string,
) => void | Promise<void>;

/** See the file header. */
export class ModelSink {
  private constructor(
    private readonly target: string | FileSink,
    private readonly files: NodeFiles | null,
  ) {}

  /** Makes the folder if need be. @throws invalid-argument for a path where there is no file system */
  static async open(target: string | FileSink): Promise<ModelSink> {
    if (typeof target === 'function') return new ModelSink(target, null);
    const files = nodeBuiltin<NodeFiles>('node:fs/promises');
    if (files === null)
      throw new TesseraError('invalid-argument', `There is no file system here to save to.`, {
        context: { folder: target },
        hints: ['Give a function instead, which takes each file: (name, content) => …'],
      });
    await files.mkdir(target, { recursive: true });
    return new ModelSink(target, files);
  }

  /** Writes a file of JSON. */
  async json(name: string, value: unknown): Promise<void> {
    const text = `${JSON.stringify(value, null, 2)}\n`;
    if (typeof this.target === 'function') await this.target(name, text);
    else await this.files!.writeFile(`${this.target}/${name}`, text);
  }

  /** Writes tensors of any device; a function gets them in one file. */
  async tensors(
    name: string,
    tensors: Readonly<Record<string, Tensor>>,
    options: Pick<SaveCheckpointOptions, 'maxShardBytes'> = {},
  ): Promise<void> {
    const metadata = { format: 'pt' };
    if (typeof this.target === 'string') {
      await saveCheckpoint(`${this.target}/${name}`, tensors, { ...options, metadata });
      return;
    }
    const here: Record<string, Tensor> = {};
    for (const [key, tensor] of Object.entries(tensors))
      here[key] = tensor.device === 'cpu' ? tensor : await download(tensor);
    await this.target(name, serializeSafetensors(here, metadata));
  }
}
