/**
 * @file `BlockWatch`: how long a page's event loop, and its frames, had to wait.
 *
 * A message to itself, sent again when it arrives, is a task like those of the page's events: the time between two
 * is what an event would have waited. Frames are asked for all the time too.
 */

/** A time in which no other task ran. */
export interface Block {
  /** By the page's clock, in ms. */
  readonly start: number;
  readonly ms: number;
}

/** What was seen. */
export interface WatchedTime {
  /** Blocks of more than a millisecond, longest first. */
  readonly blocks: readonly Block[];
  /** The longest time between two frames, of 16.7 ms each where nothing blocks. */
  readonly longestFrameMs: number;
}

/** Blocks that are told. */
const MOST_BLOCKS = 2000;

/** See the file header. */
export class BlockWatch {
  private readonly channel = new MessageChannel();
  private readonly blocks: Block[] = [];
  private lastPing = performance.now();
  private lastFrame: number | null = null;
  private longestFrameMs = 0;
  private ended = false;

  private constructor() {
    this.channel.port2.addEventListener('message', () => this.watchTasks());
    this.channel.port2.start();
    this.channel.port1.postMessage(null);
    requestAnimationFrame(() => this.watchFrames());
  }

  /** Begins when tasks and frames come. */
  static async begin(): Promise<BlockWatch> {
    for (let i = 0; i < 10; i++) await nextFrame();
    const watch = new BlockWatch();
    for (let i = 0; i < 10; i++) await nextFrame();
    watch.blocks.length = 0;
    watch.longestFrameMs = 0;
    return watch;
  }

  /** Ends after the next frame. */
  async end(): Promise<WatchedTime> {
    await nextFrame();
    await nextFrame();
    this.ended = true;
    const { longestFrameMs } = this;
    const blocks = [...this.blocks].sort((a, b) => b.ms - a.ms).slice(0, MOST_BLOCKS);
    return { blocks, longestFrameMs };
  }

  private watchTasks(): void {
    const now = performance.now();
    if (now - this.lastPing > 1)
      this.blocks.push({ start: this.lastPing, ms: now - this.lastPing });
    this.lastPing = now;
    if (!this.ended) this.channel.port1.postMessage(null);
  }

  private watchFrames(): void {
    const now = performance.now();
    if (this.lastFrame !== null)
      this.longestFrameMs = Math.max(this.longestFrameMs, now - this.lastFrame);
    this.lastFrame = now;
    if (!this.ended) requestAnimationFrame(() => this.watchFrames());
  }
}

function nextFrame(): Promise<unknown> {
  return new Promise((resolve) => requestAnimationFrame(resolve));
}
