/**
 * @file What is selected: lines of the program. A node stands for its line and a kernel for those of its nodes, so that one
 * selection shows in the editor, in graphs and in kernels.
 */

/** See the file header. */
export class Selection {
  private selected: ReadonlySet<number> = new Set();
  private readonly watchers = new Set<(lines: ReadonlySet<number>) => void>();

  /** Lines, from 1. */
  get lines(): ReadonlySet<number> {
    return this.selected;
  }

  /** Selects lines instead of those before. */
  select(lines: Iterable<number>): void {
    this.selected = new Set(lines);
    for (const watcher of this.watchers) watcher(this.selected);
  }

  /** Calls `watcher` now and on every change, until the returned function is called. */
  watch(watcher: (lines: ReadonlySet<number>) => void): () => void {
    this.watchers.add(watcher);
    watcher(this.selected);
    return () => this.watchers.delete(watcher);
  }
}

/** Marks the elements below `place` whose `data-lines` names a selected line. */
export function markLinked(place: Element, lines: ReadonlySet<number>): void {
  for (const element of place.querySelectorAll<HTMLElement>('[data-lines]')) {
    const own = element.dataset.lines!.split(' ').map(Number);
    element.classList.toggle(
      'linked',
      own.some((line) => lines.has(line)),
    );
  }
}
