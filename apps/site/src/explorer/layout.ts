/**
 * @file Asks the layout worker where boxes go.
 */
import type { BoxGraph } from './collapse.js';
import type { LayoutRequest, LayoutResponse } from './layout-worker.js';

/** Size of a box, for text of two lines. */
function sizeOf(label: string, detail: string): { width: number; height: number } {
  return { width: Math.max(label.length * 7.5, detail.length * 6.2, 40) + 18, height: 38 };
}

/** One worker, many layouts. */
export class Layouts {
  private worker: Worker | null = null;
  private next = 0;
  private readonly waiting = new Map<number, (response: LayoutResponse) => void>();

  /** Places boxes. */
  place({ boxes, edges }: BoxGraph): Promise<LayoutResponse> {
    const id = this.next++;
    const sized = boxes.map((box) => ({ id: box.id, ...sizeOf(box.label, box.detail) }));
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      this.started().postMessage({ id, boxes: sized, edges } satisfies LayoutRequest);
    });
  }

  private started(): Worker {
    if (this.worker !== null) return this.worker;
    const worker = new Worker(new URL('./layout-worker.ts', import.meta.url), { type: 'module' });
    worker.addEventListener('message', ({ data }: MessageEvent<LayoutResponse>) => {
      this.waiting.get(data.id)?.(data);
      this.waiting.delete(data.id);
    });
    return (this.worker = worker);
  }
}
