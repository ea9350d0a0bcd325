/**
 * @file Trees as text and as HTML.
 */

/** A line, with what belongs to it. */
export interface TreeNode {
  readonly text: string;
  /** A longer text that only HTML shows. */
  readonly code?: string;
  readonly children: readonly TreeNode[];
}

/** A line alone. */
export function leaf(text: string): TreeNode {
  return { text, children: [] };
}

/** Characters of a line of text. */
const WIDTH = 120;

function cut(line: string): string {
  return line.length > WIDTH ? `${line.slice(0, WIDTH - 1)}…` : line;
}

function linesOf({ text, children }: TreeNode): string[] {
  const inner = children.flatMap((child, i) => {
    const isLast = i === children.length - 1;
    return linesOf(child).map((line, j) => {
      if (j === 0) return `${isLast ? '└─ ' : '├─ '}${line}`;
      return `${isLast ? '   ' : '│  '}${line}`;
    });
  });
  return [text, ...inner];
}

/** A tree drawn with lines; long ones are cut. */
export function treeText(root: TreeNode): string {
  return linesOf(root).map(cut).join('\n');
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function escaped(text: string): string {
  return text.replaceAll(/[&<>]/g, (character) => ENTITIES[character]!);
}

/** A tree that opens and closes. */
export function treeHtml(root: TreeNode, isOpen = true): string {
  const { text, code, children } = root;
  if (children.length === 0 && code === undefined) return escaped(text);
  const items = children.map((child) => `<li>${treeHtml(child, false)}</li>`).join('');
  return [
    `<details${isOpen ? ' open' : ''}><summary>${escaped(text)}</summary>`,
    ...(items === '' ? [] : [`<ul>${items}</ul>`]),
    ...(code === undefined ? [] : [`<pre>${escaped(code)}</pre>`]),
    '</details>',
  ].join('');
}
