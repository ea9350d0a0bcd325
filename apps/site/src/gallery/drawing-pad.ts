/**
 * @file A pad to draw a digit on, with a pointer or the keyboard, and the image that it is for the model.
 */

/** Cells along a side, and along a side of the image that the model reads. */
const [CELLS, SIDE] = [32, 8];
/** Radius of the pen, in cells. */
const PEN = 1.6;

const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** See the file header. */
export class DrawingPad {
  private readonly ink = new Float32Array(CELLS * CELLS);
  private readonly pen = { x: CELLS / 2, y: 4, isDown: false };

  /** @param changed called when a stroke has ended */
  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly changed: () => void,
  ) {
    canvas.width = canvas.height = CELLS;
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.stroke(event);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (event.buttons !== 0) this.stroke(event);
    });
    canvas.addEventListener('pointerup', () => changed());
    canvas.addEventListener('keydown', (event) => this.key(event));
    this.show();
  }

  clear(): void {
    this.ink.fill(0);
    this.show();
  }

  /** Whether nothing is drawn. */
  get isEmpty(): boolean {
    return this.ink.every((value) => value === 0);
  }

  /** 64 values 0…1: what is drawn, in the middle and as large as the digits that the model knows. */
  get image(): number[] {
    const rows = this.reach((x, y) => this.at(y, x));
    const columns = this.reach((x, y) => this.at(x, y));
    const size = Math.max(rows[1] - rows[0], columns[1] - columns[0], 1);
    const [left, top] = [columns, rows].map(([from, to]) => (from + to - size) / 2) as [
      number,
      number,
    ];
    const cell = size / SIDE;
    return Array.from({ length: SIDE * SIDE }, (_, i) => {
      const [x, y] = [left + (i % SIDE) * cell, top + Math.floor(i / SIDE) * cell];
      let sum = 0;
      for (let k = 0; k < 16; k++)
        sum += this.at(
          x + ((k % 4) + 0.5) * (cell / 4),
          y + (Math.floor(k / 4) + 0.5) * (cell / 4),
        );
      return sum / 16;
    });
  }

  private at(x: number, y: number): number {
    const [column, row] = [Math.floor(x), Math.floor(y)];
    if (column < 0 || row < 0 || column >= CELLS || row >= CELLS) return 0;
    return this.ink[row * CELLS + column]!;
  }

  /** The first line with ink, and that behind the last one. */
  private reach(at: (along: number, line: number) => number): [number, number] {
    const lines = Array.from({ length: CELLS }, (_, line) => line).filter((line) =>
      Array.from({ length: CELLS }, (_, along) => at(along, line)).some((value) => value > 0),
    );
    return [lines[0] ?? 0, (lines.at(-1) ?? CELLS - 1) + 1];
  }

  private stroke({ offsetX, offsetY }: PointerEvent): void {
    const { clientWidth, clientHeight } = this.canvas;
    this.pen.x = (offsetX / clientWidth) * CELLS;
    this.pen.y = (offsetY / clientHeight) * CELLS;
    this.paint();
  }

  private key(event: KeyboardEvent): void {
    const { pen } = this;
    const move = MOVES[event.key];
    if (move === undefined && event.key !== ' ') return;
    event.preventDefault();
    if (move === undefined) pen.isDown = !pen.isDown;
    else {
      pen.x = Math.min(CELLS - 1, Math.max(0, pen.x + move[0]));
      pen.y = Math.min(CELLS - 1, Math.max(0, pen.y + move[1]));
    }
    if (pen.isDown) this.paint();
    else this.show();
    if (move === undefined && !pen.isDown) this.changed();
  }

  private paint(): void {
    const { x, y } = this.pen;
    for (let row = Math.floor(y - PEN); row <= y + PEN; row++)
      for (let column = Math.floor(x - PEN); column <= x + PEN; column++) {
        if (row < 0 || column < 0 || row >= CELLS || column >= CELLS) continue;
        if (Math.hypot(column + 0.5 - x, row + 0.5 - y) <= PEN) this.ink[row * CELLS + column] = 1;
      }
    this.show();
  }

  private show(): void {
    const context = this.canvas.getContext('2d')!;
    const image = context.createImageData(CELLS, CELLS);
    this.ink.forEach((value, i) => image.data.set([20, 30, 50, value * 255], i * 4));
    context.putImageData(image, 0, 0);
    context.fillStyle = this.pen.isDown ? '#1f57b8' : '#1f57b866';
    context.fillRect(Math.floor(this.pen.x), Math.floor(this.pen.y), 1, 1);
  }
}
