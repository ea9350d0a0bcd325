/**
 * @file `FileCheck`: ordered checks on generated text, after LLVM's tool and torch.testing.FileCheck.
 */

type Kind = 'check' | 'next' | 'same' | 'not' | 'count';

interface Check {
  readonly kind: Kind;
  readonly text: string;
  readonly count: number;
}

/** Builds a list of checks and runs it on a text. */
export class FileCheck {
  private readonly checks: Check[] = [];

  /** The text occurs after the last match. */
  check(text: string): this {
    this.checks.push({ kind: 'check', text, count: 1 });
    return this;
  }

  /** The text occurs on the line after the last match. */
  checkNext(text: string): this {
    this.checks.push({ kind: 'next', text, count: 1 });
    return this;
  }

  /** The text occurs on the line of the last match, after it. */
  checkSame(text: string): this {
    this.checks.push({ kind: 'same', text, count: 1 });
    return this;
  }

  /** The text does not occur between the last match and the next one. */
  checkNot(text: string): this {
    this.checks.push({ kind: 'not', text, count: 1 });
    return this;
  }

  /** The text occurs `count` times after the last match; with `exactly`, not once more. */
  checkCount(text: string, count: number, options?: { readonly exactly?: boolean }): this {
    this.checks.push({ kind: 'count', text, count });
    if (options?.exactly === true) this.checkNot(text);
    return this;
  }

  /** Runs the checks. Throws with the failing one and the text around. */
  run(source: string): void {
    let at = 0;
    const pendingNot: string[] = [];
    const clearNots = (end: number): void => {
      for (const text of pendingNot.splice(0)) {
        const found = source.indexOf(text, at);
        if (found >= 0 && found < end) this.fail(`CHECK-NOT: '${text}' occurs`, source, found);
      }
    };
    for (const { kind, text, count } of this.checks) {
      if (kind === 'not') {
        pendingNot.push(text);
        continue;
      }
      for (let i = 0; i < count; i++) {
        const found = source.indexOf(text, at);
        if (found < 0)
          this.fail(
            `CHECK: '${text}'${count > 1 ? ` (${i + 1} of ${count})` : ''} not found`,
            source,
            at,
          );
        this.checkLine(kind, text, source, at, found);
        clearNots(found);
        at = found + text.length;
      }
    }
    clearNots(source.length);
  }

  private checkLine(kind: Kind, text: string, source: string, at: number, found: number): void {
    const breaks = source.slice(at, found).split('\n').length - 1;
    if (kind === 'same' && breaks !== 0)
      this.fail(`CHECK-SAME: '${text}' is not on the same line`, source, at);
    if (kind === 'next' && breaks !== 1)
      this.fail(`CHECK-NEXT: '${text}' is not on the next line`, source, at);
  }

  private fail(what: string, source: string, at: number): never {
    throw new Error(`${what}. Text from there:\n${source.slice(at, at + 600)}`);
  }
}
