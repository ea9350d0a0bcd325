/**
 * @file What a document with samples says: its blocks of code, and the values that comments behind `console.log` promise.
 */

/** A comment that begins like a value. Dots stand for something, so such a one is prose. */
const VALUE = /^(?:[[\d'-]|true\b|false\b|null\b|b?float\d+$|u?int\d+$|bool$)(?!.*…)/;

/** The fenced blocks of a document, in order; `words` are its language and what stands behind it. */
export function blocksOf(text) {
  return [...text.matchAll(/^```(\w.*)\n([^]*?)^```$/gm)].map(([, words, code]) => ({
    words,
    code,
  }));
}

/** The comments of a program that promise what its `console.log` prints, with their lines, from 0. */
export function promisesOf(program) {
  return program.split('\n').flatMap((content, line) => {
    const comment = /^\s*console\.log\(.*\);? \/\/ (.*)$/.exec(content)?.[1];
    return comment !== undefined && VALUE.test(comment) ? [{ line, comment }] : [];
  });
}

/** Text without the spaces that `console.log` puts inside brackets. */
export function bare(text) {
  return text.replaceAll(/\s+/g, ' ').replaceAll(/([[{(]) | (?=[\]})])/g, '$1');
}
