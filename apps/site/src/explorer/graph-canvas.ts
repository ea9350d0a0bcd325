/**
 * @file A graph as a picture: boxes and edges on a canvas, moved and scaled by pointer, wheel and keyboard. Only what is in
 * view is drawn. A click on a box selects its lines, a double click opens a box of many nodes.
 */
import { type Box, type BoxGraph, boxesOf } from './collapse.js';
import { h } from './elements.js';
import type { GraphView } from '@tessera/compile/exploration';
import type { Layouts } from './layout.js';
import type { LayoutResponse, Place } from './layout-worker.js';
import type { Selection } from './selection.js';

/** Smallest scale at which text is drawn. */
const READABLE = 0.35;
/** Pixels that an arrow key moves. */
const STEP = 60;

/** Lines of the program behind a box. */
function linesOf({ nodes }: Box): number[] {
  return [...new Set(nodes.map(({ line }) => line).filter((line) => line !== null))];
}

/** See the file header. */
export class GraphCanvas {
  readonly element: HTMLElement;
  private readonly canvas = document.createElement('canvas');
  private readonly open = new Set<string>();
  private boxes: BoxGraph = { boxes: [], edges: [] };
  private placed: LayoutResponse = { id: -1, places: {}, edges: [] };
  private scale = 1;
  private x = 0;
  private y = 0;
  private waiting = false;

  constructor(
    private readonly graph: GraphView,
    private readonly layouts: Layouts,
    private readonly selection: Selection,
  ) {
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.element = h('div', { class: 'graph-view' }, this.canvas);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.element);
    selection.watch(() => this.draw());
    document.addEventListener('themechange', () => this.draw());
    void this.arrange();
  }

  /** Lays the graph out again, as after a box was opened. */
  private async arrange(): Promise<void> {
    this.boxes = boxesOf(this.graph, this.open);
    const { length } = this.boxes.boxes;
    const label = `${this.graph.title}: ${this.graph.nodes.length} nodes in ${length} boxes. The same as text is under Captured and Forward, backward.`;
    this.canvas.setAttribute('aria-label', label);
    const first = this.placed.id < 0;
    this.placed = await this.layouts.place(this.boxes);
    if (first) this.center();
    this.element.dataset.boxes = String(length);
    this.draw();
  }

  /** Shows the beginning of the graph in the middle. */
  private center(): void {
    const [first] = this.boxes.boxes;
    const place = first === undefined ? undefined : this.placed.places[first.id];
    this.x = this.element.clientWidth / 2 - (place?.x ?? 0);
    this.y = 20;
  }

  /** Draws with the next frame. */
  draw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  private paint(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0) return;
    const ratio = devicePixelRatio;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const context = this.canvas.getContext('2d')!;
    const start = performance.now();
    const style = getComputedStyle(this.element);
    const ink = style.color;
    context.setTransform(
      ratio * this.scale,
      0,
      0,
      ratio * this.scale,
      ratio * this.x,
      ratio * this.y,
    );
    const [left, top] = [-this.x / this.scale, -this.y / this.scale];
    const [right, bottom] = [left + width / this.scale, top + height / this.scale];
    const seen = (place: Place): boolean =>
      place.x + place.width / 2 > left &&
      place.x - place.width / 2 < right &&
      place.y + place.height / 2 > top &&
      place.y - place.height / 2 < bottom;
    context.strokeStyle = ink;
    context.globalAlpha = 0.35;
    context.beginPath();
    for (const points of this.placed.edges) {
      const ys = points.map(({ y }) => y);
      if (points.length === 0 || Math.max(...ys) < top || Math.min(...ys) > bottom) continue;
      points.forEach(({ x, y }, i) => (i === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
    }
    context.stroke();
    context.globalAlpha = 1;
    for (const box of this.boxes.boxes) {
      const place = this.placed.places[box.id];
      if (place !== undefined && seen(place)) this.paintBox(context, box, place, style);
    }
    this.element.dataset.paintMs = (performance.now() - start).toFixed(2);
  }

  private paintBox(
    context: CanvasRenderingContext2D,
    box: Box,
    { x, y, width, height }: Place,
    style: CSSStyleDeclaration,
  ): void {
    const isLinked = linesOf(box).some((line) => this.selection.lines.has(line));
    const isMany = box.nodes.length > 1;
    context.fillStyle = isLinked ? '#e0b020' : isMany ? '#8a6fd155' : '#8888882a';
    context.fillRect(x - width / 2, y - height / 2, width, height);
    context.strokeStyle = style.color;
    context.strokeRect(x - width / 2, y - height / 2, width, height);
    if (this.scale < READABLE) return;
    context.fillStyle = isLinked ? '#101418' : style.color;
    context.textAlign = 'center';
    context.font = '600 12px ui-monospace, monospace';
    context.fillText(box.label, x, y - 3);
    context.font = '10px ui-monospace, monospace';
    context.fillText(box.detail, x, y + 12);
  }

  /** The box under a point of the canvas. */
  private boxAt(pointX: number, pointY: number): Box | undefined {
    const [x, y] = [(pointX - this.x) / this.scale, (pointY - this.y) / this.scale];
    return this.boxes.boxes.find(({ id }) => {
      const place = this.placed.places[id];
      return (
        place !== undefined &&
        Math.abs(place.x - x) <= place.width / 2 &&
        Math.abs(place.y - y) <= place.height / 2
      );
    });
  }

  /** Moves the picture. */
  private move(x: number, y: number): void {
    this.x += x;
    this.y += y;
    this.draw();
  }

  /** Scales the picture around a point of the canvas. */
  private zoom(factor: number, x: number, y: number): void {
    const scale = Math.min(4, Math.max(0.02, this.scale * factor));
    this.x = x - ((x - this.x) / this.scale) * scale;
    this.y = y - ((y - this.y) / this.scale) * scale;
    this.scale = scale;
    this.draw();
  }

  private listen(): void {
    const { canvas } = this;
    let isDown = false;
    canvas.addEventListener('pointerdown', (event) => {
      isDown = true;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (isDown) this.move(event.movementX, event.movementY);
    });
    canvas.addEventListener('pointerup', () => (isDown = false));
    canvas.addEventListener('click', (event) => {
      const box = this.boxAt(event.offsetX, event.offsetY);
      if (box !== undefined) this.selection.select(linesOf(box));
    });
    canvas.addEventListener('dblclick', (event) => {
      const box = this.boxAt(event.offsetX, event.offsetY);
      if (box === undefined || box.nodes.length === 1) return;
      this.open.add(box.id);
      void this.arrange();
    });
    canvas.addEventListener(
      'wheel',
      (event) => {
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
      },
      { passive: false },
    );
    canvas.addEventListener('keydown', (event) => {
      const [x, y] = [canvas.clientWidth / 2, canvas.clientHeight / 2];
      const actions: Readonly<Record<string, () => void>> = {
        ArrowLeft: () => this.move(STEP, 0),
        ArrowRight: () => this.move(-STEP, 0),
        ArrowUp: () => this.move(0, STEP),
        ArrowDown: () => this.move(0, -STEP),
        '+': () => this.zoom(1.25, x, y),
        '-': () => this.zoom(0.8, x, y),
      };
      const action = actions[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    });
  }
}
