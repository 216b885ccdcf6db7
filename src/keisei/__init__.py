"""keisei runs coding agents unattended and believes none of them."""

__version__ = "0.1.0"
