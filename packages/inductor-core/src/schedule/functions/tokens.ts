/**
 * @file Words of the notation that scalar programs are written in.
 */
import { TesseraError } from '@tessera/shared';

const TOKEN =
  /\s+|\/\/[^\n]*|(->|<<|>>|[<>=!]=|&&|\|\||[-+*/%&|^]=|0x[\da-f]+u?|\d+(?:\.\d*)?(?:e[-+]?\d+)?u?|@?[a-z_]\w*|[-+*/%&|^~!<>=(){}[\];:,.])/giy;

/** Reads words one by one. */
export class TokenReader {
  readonly #tokens: string[] = [];
  #at = 0;

  constructor(text: string) {
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.length) {
      const at = TOKEN.lastIndex;
      const match = TOKEN.exec(text);
      if (match === null) throw this.#error(`'${text.slice(at, at + 20)}' is no word`);
      if (match[1] !== undefined) this.#tokens.push(match[1]);
    }
  }

  get next(): string {
    return this.#tokens[this.#at] ?? '';
  }

  take(): string {
    this.#at += 1;
    return this.#tokens[this.#at - 1] ?? '';
  }

  /** Takes the word if it is this one. */
  accept(token: string): boolean {
    if (this.next !== token) return false;
    this.#at += 1;
    return true;
  }

  /** Takes this word. @throws plan-invalid */
  expect(token: string): void {
    const found = this.take();
    if (found !== token) throw this.#error(`'${token}' expected, not '${found}'`);
  }

  #error(what: string): TesseraError {
    const context = { near: this.#tokens.slice(Math.max(0, this.#at - 8), this.#at + 2).join(' ') };
    return new TesseraError('plan-invalid', `A scalar program does not parse: ${what}.`, {
      context,
    });
  }
}
