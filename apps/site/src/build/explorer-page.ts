/**
 * @file The page of the explorer: an editor, the stages as tabs, and a place for each.
 */
import type { Page } from './page.js';

/** The page. */
export function explorerPage(): Page {
  return {
    path: 'explorer.html',
    title: 'Explorer',
    description: 'Write a function and look at what the compiler makes of it, stage by stage.',
    layout: 'app',
    script: 'explorer',
    body: `<div class="toolbar">
<h1>Explorer</h1>
<label>Example <select id="examples"></select></label>
<button type="button" class="primary" id="run">Compile and run</button>
<button type="button" id="share">Copy a link</button>
<span id="state" role="status" class="muted"></span>
</div>
<div class="explorer">
<section class="pane" aria-labelledby="program-title">
<h2 id="program-title">Program</h2>
<div class="editor" id="editor"></div>
<p class="muted keys">Keys: <kbd>Ctrl</kbd> <kbd>Enter</kbd> compiles and runs, <kbd>Ctrl</kbd> <kbd>K</kbd> and then
<kbd>Ctrl</kbd> <kbd>I</kbd> shows the type at the cursor, <kbd>Ctrl</kbd> <kbd>Space</kbd> lists names; <kbd>⌘</kbd> in
place of the first two on a Mac.</p>
</section>
<section class="pane" aria-labelledby="stages-title">
<h2 id="stages-title">What became of it</h2>
<div class="tabs" role="tablist" aria-label="Stages" id="tabs"></div>
<div class="view" role="tabpanel" tabindex="0" id="view" aria-labelledby="stages-title"><p class="muted">Press
“Compile and run”: everything happens in a worker of this page.</p></div>
</section>
</div>`,
  };
}
