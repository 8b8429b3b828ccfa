/** The one script of the site. Pages are complete without it. */
