/**
 * @file The page's side of the worker that knows types.
 */
import type { TypeAnswers, TypeResponse } from './type-messages.js';

/** See the file header. */
export class TypeClient {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, (response: TypeResponse) => void>();
  private asked = 0;
  private isLost = false;
  private report: (why: string) => void;

  /**
   * @param files address of the declarations
   * @param report is told once why there are no types, if there are none
   */
  constructor(files: URL, report: (why: string) => void) {
    this.report = (why) => {
      this.report = () => {};
      report(why);
    };
    this.worker = new Worker(new URL('./type-worker.ts', import.meta.url), {
      type: 'module',
      name: files.href,
    });
    this.worker.addEventListener('message', ({ data }: MessageEvent<TypeResponse>) => {
      this.waiting.get(data.id)?.(data);
      this.waiting.delete(data.id);
    });
    this.worker.addEventListener('error', (event) => {
      event.preventDefault();
      this.isLost = true;
      for (const [id, answer] of this.waiting)
        answer({ id, failure: event.message || 'The worker failed.' });
      this.waiting.clear();
    });
  }

  /** The answer about a program; null, too, where the worker cannot give one: the editor goes on without. */
  async ask<Kind extends keyof TypeAnswers>(
    kind: Kind,
    source: string,
    position = 0,
  ): Promise<TypeAnswers[Kind] | null> {
    if (this.isLost) return null;
    const id = ++this.asked;
    const answered = new Promise<TypeResponse>((resolve) => this.waiting.set(id, resolve));
    this.worker.postMessage({ id, kind, source, position });
    const { answer, failure } = await answered;
    if (failure === undefined) return answer as TypeAnswers[Kind];
    this.report(failure);
    return null;
  }
}
