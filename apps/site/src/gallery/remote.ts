/**
 * @file Objects in workers: a page calls their methods, and hears what they tell on the way.
 */

interface Call {
  readonly id: number;
  readonly name: string;
  readonly args: readonly unknown[];
}

interface Answer {
  readonly id: number;
  readonly kind: 'told' | 'done' | 'failed';
  readonly values: readonly unknown[];
}

/** What a method tells on the way. */
export type Tell = (...values: never[]) => void;

/** Methods by name. One whose last argument tells gets it from `serve`. */
export type Methods = Readonly<
  Record<string, (tell: (...values: unknown[]) => void, ...args: never[]) => unknown>
>;

/** Answers the calls of the page that started this worker, one after another. */
export function serve(methods: Methods): void {
  let last: Promise<unknown> = Promise.resolve();
  addEventListener('message', ({ data: { id, name, args } }: MessageEvent<Call>) => {
    const answer = (kind: Answer['kind'], ...values: unknown[]): void =>
      postMessage({ id, kind, values } satisfies Answer);
    last = last
      .then(() => methods[name]!((...values) => answer('told', ...values), ...(args as never[])))
      .then(
        (value) => answer('done', value),
        (error: unknown) => answer('failed', String(error)),
      );
  });
}

/** The page's side of a worker. */
export class Remote {
  private calls = 0;

  constructor(private readonly worker: Worker) {}

  /** Calls a method; `tell` hears what it tells. Rejects with what it throws. */
  call<T>(name: string, args: readonly unknown[], tell: Tell = () => undefined): Promise<T> {
    const id = this.calls++;
    return new Promise((resolve, reject) => {
      const hear = ({ data }: MessageEvent<Answer>): void => {
        if (data.id !== id) return;
        if (data.kind === 'told') return void tell(...(data.values as never[]));
        this.worker.removeEventListener('message', hear);
        if (data.kind === 'done') resolve(data.values[0] as T);
        else reject(new Error(String(data.values[0])));
      };
      this.worker.addEventListener('message', hear);
      this.worker.addEventListener('error', ({ message }) => reject(new Error(message)));
      this.worker.postMessage({ id, name, args } satisfies Call);
    });
  }
}
