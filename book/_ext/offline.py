"""Keeps the built pages free of script errors when they are opened from disk; a launch button for any JupyterHub."""

from urllib.parse import urlencode

LINK_GENERATOR = "https://nbgitpuller.readthedocs.io/en/latest/link.html"


def drop_second_thebe_url(app, pagename, templatename, context, doctree):
    """sphinx-thebe declares the constant THEBE_JS_URL twice on every page, which is a JavaScript error."""
    seen = False
    kept = []
    for script in context.get("script_files", []):
        body = (getattr(script, "attributes", None) or {}).get("body") or ""
        if "THEBE_JS_URL" in body:
            if seen:
                continue
            seen = True
        kept.append(script)
    context["script_files"] = kept


def add_jupyterhub(app, pagename, templatename, context, doctree):
    """Without a hub in _config.yml: a page, filled in with this chapter, that asks for the reader's own."""
    for group in context.get("header_buttons", []):
        if group.get("label") != "launch-buttons" or any(link["text"] == "JupyterHub" for link in group["buttons"]):
            continue
        options = app.config.html_theme_options
        address = options["repository_url"]
        chapter = {
            "repo": address,
            "branch": options["repository_branch"],
            "urlpath": f"lab/tree/{address.rsplit('/', 1)[1]}/{pagename}.ipynb",
        }
        group["buttons"].append(
            {
                "type": "link",
                "text": "JupyterHub",
                "tooltip": "Launch on your JupyterHub",
                "icon": "_static/images/logo_jupyterhub.svg",
                "url": f"{LINK_GENERATOR}?{urlencode(chapter, safe='/')}",
            }
        )


def setup(app):
    app.connect("html-page-context", drop_second_thebe_url, priority=900)
    app.connect("html-page-context", add_jupyterhub, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
