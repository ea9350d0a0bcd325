/**
 * @file What the consoles of Node, Deno and Bun print of an object.
 */

/** Objects of the class, or the object, print as the text that `text` makes of them instead of all their fields. */
export function inspectsAs<T extends object>(
  of: { readonly prototype: T },
  text: (value: T) => string = String,
): void {
  Object.defineProperty(of.prototype, Symbol.for('nodejs.util.inspect.custom'), {
    configurable: true,
    value(this: T): string {
      return text(this);
    },
  });
}
