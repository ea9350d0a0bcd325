/**
 * @file The page of a debug folder: every file, folded, in the order of the compile.
 */

const STYLE = `body{font:14px system-ui;margin:2em auto;max-width:100em;padding:0 1em}
pre{overflow:auto;background:#8881;padding:1em}summary{cursor:pointer;font-family:monospace;padding:.2em 0}
@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}a{color:#8cf}}`;

/** The page; `files` by path within the folder. */
export function indexPage(title: string, files: ReadonlyMap<string, string>): string {
  const sections = [...files].map(
    ([name, text]) =>
      `<details><summary>${escaped(name)} <a href="${encodeURI(name)}">file</a></summary><pre>${escaped(text)}</pre></details>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title><style>${STYLE}</style></head>
<body><h1>${escaped(title)}</h1>
${sections.join('\n')}
</body></html>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
