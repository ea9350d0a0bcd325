/**
 * @file The lines of the user's files that operators came from, quoted in the order in which they were first seen: the
 * program that a debug folder shows. Lines keep their numbers while more come.
 */

/** Text of a file, or null if it cannot be read. */
export type ReadText = (path: string) => string | null;

/** See the file header. */
export class SourceLines {
  private readonly quoted: string[] = [];
  private readonly numbers = new Map<string, number>();
  private readonly texts = new Map<string, readonly string[] | null>();
  private lastFile = '';

  constructor(private readonly read: ReadText) {}

  /** The quoted lines, with a comment where the file is another. */
  get program(): string {
    return this.quoted.join('\n');
  }

  /** The number, from 1, of the quoted line that a frame is in; null for what is no frame. */
  readonly lineOf = (frame: string | undefined): number | null => {
    const [, file, line] = /^(.*):(\d+):\d+(?: |$)/.exec(frame ?? '') ?? [];
    if (file === undefined || line === undefined) return null;
    const place = `${file}:${line}`;
    const known = this.numbers.get(place);
    if (known !== undefined) return known;
    if (file !== this.lastFile) {
      this.quoted.push(`// ${file}`);
      this.lastFile = file;
    }
    const text = this.linesOf(file)?.[Number(line) - 1] ?? frame!;
    const number = this.quoted.push(`${text} // ${line}`);
    this.numbers.set(place, number);
    return number;
  };

  private linesOf(file: string): readonly string[] | null {
    let lines = this.texts.get(file);
    if (lines === undefined) {
      lines = this.read(file)?.split(/\r?\n/) ?? null;
      this.texts.set(file, lines);
    }
    return lines;
  }
}
