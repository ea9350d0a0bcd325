/**
 * @file Elements of the page and of pictures, made in one expression.
 */

/** Attributes by name; `null` leaves one out. */
export type Attributes = Readonly<Record<string, string | number | null>>;

type Child = Node | string;

function fill<E extends Element>(
  element: E,
  attributes: Attributes,
  children: readonly Child[],
): E {
  for (const [name, value] of Object.entries(attributes))
    if (value !== null) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** An element. */
export function h(tag: string, attributes: Attributes, ...children: Child[]): HTMLElement {
  return fill(document.createElement(tag), attributes, children);
}

/** An element of a picture. */
export function svg(tag: string, attributes: Attributes, ...children: Child[]): SVGElement {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}
