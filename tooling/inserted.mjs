/**
 * @file Writes into a text what was found of its syntax tree.
 */

/**
 * A text with others in its places.
 *
 * @param {string} text
 * @param {import('./assigned-fields.mjs').Insertion[]} insertions
 */
export function inserted(text, insertions) {
  let result = '';
  let done = 0;
  for (const { at, until = at, text: between } of insertions.sort((a, b) => a.at - b.at)) {
    // Names in a declaration that is left out go with it.
    if (at < done) continue;
    result += text.slice(done, at) + between;
    done = until;
  }
  return result + text.slice(done);
}
