/**
 * @file A page for each error code, from `docs/errors`.
 */
import type { Markdown } from './markdown.js';
import type { Page } from './page.js';
import { namesIn, textOf } from './repository-files.js';

const FOLDER = 'docs/errors';
const REPOSITORY = 'https://github.com/tessera-ml/tessera/blob/main';

/** Pages link to their neighbours; what else is in the repository is linked to there. */
function errorLink(target: string): string {
  if (/^[a-z]+:|^#/.test(target)) return target;
  if (/^[\w-]+\.md/.test(target))
    return target.replace('README.md', 'index.html').replace('.md', '.html');
  return new URL(target, `${REPOSITORY}/${FOLDER}/`).href;
}

/** The pages, and their index, which is the README of the folder. */
export function errorPages(markdown: Markdown): Page[] {
  return namesIn(FOLDER).map((file): Page => {
    const text = textOf(`${FOLDER}/${file}`);
    const { html, headings } = markdown.render(text, errorLink);
    const title = (headings[0]?.text ?? file).replaceAll('&#39;', "'");
    return {
      path: `errors/${file.replace('README.md', 'index.html').replace('.md', '.html')}`,
      title,
      description: `${title}: when Tessera throws it, and what to do.`,
      body: html,
    };
  });
}
