/**
 * @file Tells bundlers that `import * as x` may go when nothing reads `x`.
 *
 * In a file made of several modules esbuild fills the object of a namespace by a statement, which bundlers must keep,
 * with every function that it names. Written as the value of a constant, it is dropped with it. No line moves, so source
 * maps stay right.
 */
const NAMESPACE = /var (\w+) = \{\};\n__export\(\1, (\{\n[\s\S]*?\n\})\);/g;

/**
 * The text of a built file whose namespaces are constants.
 *
 * @param {string} code
 */
export function pureNamespaces(code) {
  return code.replace(
    NAMESPACE,
    'var $1 =\n/* @__PURE__ */ ((target, all) => (__export(target, all), target))({}, $2);',
  );
}
