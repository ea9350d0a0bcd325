/**
 * @file `CodeBlock`: lines of generated code with nested blocks.
 *
 * A nested block is built apart and appended when it is complete, so code that building it hoists
 * into the enclosing block lands before it.
 */

/** See the file header. */
export class CodeBlock {
  private readonly items: (string | { readonly head: string; readonly body: CodeBlock })[] = [];

  line(text: string): void {
    this.items.push(text);
  }

  /** Appends `head { body }`; without a head it is only a scope. An empty body is left out when it would do nothing. */
  nest(head: string, body: CodeBlock): void {
    if (!body.isEmpty) this.items.push({ head, body });
  }

  /** Appends a scope that `fill` fills, under a head if there is one. */
  scope(fill: (body: CodeBlock) => void, head = ''): void {
    const body = new CodeBlock();
    fill(body);
    this.nest(head, body);
  }

  /** Appends the content of another block at this block's level. */
  append(other: CodeBlock): void {
    this.items.push(...other.items);
  }

  get isEmpty(): boolean {
    return this.items.length === 0;
  }

  /** Text with two spaces per level. */
  render(indent: string): string {
    return this.items
      .map((item) =>
        typeof item === 'string'
          ? `${indent}${item}\n`
          : `${indent}${item.head === '' ? '' : `${item.head} `}{\n${item.body.render(`${indent}  `)}${indent}}\n`,
      )
      .join('');
  }
}
