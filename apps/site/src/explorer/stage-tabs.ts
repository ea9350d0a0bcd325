/**
 * @file The stages as tabs: what is shown is made when its tab is chosen. Arrow keys go from tab to tab.
 */
import { h } from './elements.js';
import type { Exploration } from '@tessera/compile/exploration';
import { GraphCanvas } from './graph-canvas.js';
import { Layouts } from './layout.js';
import { type Selection, markLinked } from './selection.js';
import { STAGES, type Stage } from './stage-views.js';
import { timeline } from './timeline.js';

/** See the file header. */
export class StageTabs {
  private readonly layouts = new Layouts();
  private readonly stages: readonly Stage[];
  private readonly buttons: readonly HTMLElement[];
  private current = 0;
  private exploration: Exploration | null = null;

  constructor(
    tabs: HTMLElement,
    private readonly view: HTMLElement,
    private readonly selection: Selection,
  ) {
    const pictures = (seen: Exploration): HTMLElement[] => {
      const graphs = [...seen.captured, ...seen.compiled.map(({ graph }) => graph)];
      return graphs.flatMap((graph) => [
        h('h3', {}, graph.title),
        new GraphCanvas(graph, this.layouts, selection).element,
      ]);
    };
    this.stages = [
      STAGES[0]!,
      { name: 'Picture', show: pictures },
      ...STAGES.slice(1),
      { name: 'Timeline', show: (seen) => [timeline(seen.timeline)] },
      { name: 'Output', show: outputOf },
    ];
    this.buttons = this.stages.map(({ name }, i) => {
      const button = h('button', { type: 'button', role: 'tab', 'aria-controls': view.id }, name);
      button.addEventListener('click', () => this.choose(i));
      return button;
    });
    tabs.replaceChildren(...this.buttons);
    tabs.addEventListener('keydown', ({ key }) => {
      const by = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
      if (by === 0) return;
      this.choose((this.current + by + this.stages.length) % this.stages.length);
      this.buttons[this.current]!.focus();
    });
    this.listen();
    this.choose(0);
  }

  /** Shows what became of a program; the tab stays. */
  show(exploration: Exploration): void {
    this.exploration = exploration;
    this.choose(this.current);
  }

  /** Goes to the tab of this name. */
  open(name: string): void {
    this.choose(this.stages.findIndex((stage) => stage.name === name));
  }

  private choose(index: number): void {
    this.current = index;
    this.buttons.forEach((button, i) => {
      button.setAttribute('aria-selected', String(i === index));
      button.tabIndex = i === index ? 0 : -1;
    });
    if (this.exploration === null) return;
    this.view.replaceChildren(...this.stages[index]!.show(this.exploration));
    markLinked(this.view, this.selection.lines);
  }

  /** What has lines selects them. */
  private listen(): void {
    const select = (event: Event): void => {
      const element = (event.target as Element).closest<HTMLElement>('[data-lines]');
      if (element === null || !this.view.contains(element)) return;
      event.preventDefault();
      this.selection.select(element.dataset.lines!.split(' ').map(Number));
    };
    this.view.addEventListener('click', select);
    this.view.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' || event.key === ' ') select(event);
    });
    this.selection.watch((lines) => markLinked(this.view, lines));
  }
}

function outputOf({ output, error }: Exploration): HTMLElement[] {
  return [
    h('pre', { tabindex: 0 }, h('code', {}, output.join('\n') || 'The program printed nothing.')),
    ...(error === null ? [] : [h('p', { class: 'error' }, error)]),
  ];
}
