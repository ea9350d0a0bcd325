// Before anything is drawn: the theme that was chosen here, if one was.
try {
  const theme = localStorage.getItem('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // No storage: as the system says.
}
