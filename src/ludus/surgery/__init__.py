"""Surgery: weights of one network for another, for a changed game or a larger network.

A :class:`ludus.surgery.plan.ConversionPlan` is plain data, made from two configurations and specs. ``apply``
turns arrays into arrays by a plan, ``verify`` measures what a conversion changed.
"""
