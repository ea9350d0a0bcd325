/**
 * @file What the demo shows in a terminal: progress, a table, drawn digits.
 */

/** A line that is overwritten in a terminal and left out elsewhere. */
export function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${text}`);
}

/** A bar of 24 cells. */
export function bar(done: number, total: number): string {
  const filled = Math.round((24 * done) / total);
  return `${'█'.repeat(filled)}${'░'.repeat(24 - filled)}`;
}

/** Two columns, aligned. */
export function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join('\n');
}

const SHADES = ' ░▒▓█';

/** Some 8×8 digits side by side, with prediction and label below. */
export function drawDigits(
  pixels: Uint8Array,
  predictions: readonly number[],
  labels: Uint8Array,
  indices: readonly number[],
): string {
  const lines: string[] = [];
  for (let row = 0; row < 8; row++) {
    const cells = indices.map((index) => {
      let text = '';
      for (let column = 0; column < 8; column++) {
        const value = pixels[index * 64 + row * 8 + column]!;
        text += SHADES[Math.min(4, Math.floor((value / 17) * 5))]!.repeat(2);
      }
      return text;
    });
    lines.push(cells.join('   '));
  }
  const captions = indices.map((index) => {
    const right = predictions[index] === labels[index];
    return `${predictions[index]} ${right ? '✓' : `✗ (is ${labels[index]})`}`.padEnd(19);
  });
  lines.push(captions.join(''));
  return lines.join('\n');
}
