/**
 * @file The page's side of the worker that knows types.
 */
import type { TypeAnswers, TypeResponse } from './type-messages.js';

/** See the file header. */
export class TypeClient {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, (response: TypeResponse) => void>();
  private asked = 0;

  /** @param files address of the declarations */
  constructor(files: URL) {
    this.worker = new Worker(new URL('./type-worker.ts', import.meta.url), {
      type: 'module',
      name: files.href,
    });
    this.worker.addEventListener('message', ({ data }: MessageEvent<TypeResponse>) => {
      this.waiting.get(data.id)?.(data);
      this.waiting.delete(data.id);
    });
  }

  /** The answer about a program. @throws Error when the worker cannot give one */
  async ask<Kind extends keyof TypeAnswers>(
    kind: Kind,
    source: string,
    position = 0,
  ): Promise<TypeAnswers[Kind]> {
    const id = ++this.asked;
    const answered = new Promise<TypeResponse>((resolve) => this.waiting.set(id, resolve));
    this.worker.postMessage({ id, kind, source, position });
    const { answer, failure } = await answered;
    if (failure !== undefined) throw new Error(failure);
    return answer as TypeAnswers[Kind];
  }
}
